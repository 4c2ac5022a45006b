const crypto = require('crypto');
module.exports = async ({ args: { body } , configuration }) => {
  const encrypted = crypto.publicEncrypt(
    { key: configuration.PUBLIC_KEY, padding: crypto.constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' },
    Buffer.from(JSON.stringify(body)),
  );
  const decrypted = crypto.privateDecrypt(
    { key: configuration.PRIVATE_KEY, padding: crypto.constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' },
    encrypted,
  );
  return { body: { bytes: encrypted.length, text: encrypted.toString('base64').length, decrypted: JSON.parse(decrypted.toString()) }, headers: {} };
};
