const crypto = require('crypto');
const oaep = (key) => ({ key, padding: crypto.constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' });
const encrypt = (text, key) => {
  const head = Buffer.from(JSON.stringify({ alg: 'RSA-OAEP-256', enc: 'A256GCM' })).toString('base64url');
  const secret = crypto.randomBytes(32);
  const iv = crypto.randomBytes(12);
  const cipher = crypto.createCipheriv('aes-256-gcm', secret, iv, { authTagLength: 16 });
  cipher.setAAD(Buffer.from(head, 'ascii'));
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return [head, ...[crypto.publicEncrypt(oaep(key), secret), iv, sealed, cipher.getAuthTag()].map((part) => part.toString('base64url'))].join('.');
};
const decrypt = (jwe, key) => {
  const [head, ...rest] = jwe.split('.');
  const [wrapped, iv, sealed, tag] = rest.map((part) => Buffer.from(part, 'base64url'));
  const decipher = crypto.createDecipheriv('aes-256-gcm', crypto.privateDecrypt(oaep(key), wrapped), iv);
  decipher.setAAD(Buffer.from(head));
  decipher.setAuthTag(tag);
  return decipher.update(sealed, undefined, 'utf8') + decipher.final('utf8');
};
module.exports = async ({ args, configuration }) => {
  const jwe = encrypt(JSON.stringify(args.body), configuration.PUBLIC_KEY);
  const broken = jwe.slice(0, -2) + (jwe.endsWith('AA') ? 'BB' : 'AA');
  let rejected;
  try { decrypt(broken, configuration.PRIVATE_KEY); } catch (error) { rejected = error.message; }
  return { body: { parts: jwe.split('.').map((part) => part.length), plain: JSON.parse(decrypt(jwe, configuration.PRIVATE_KEY)), rejected }, headers: {} };
};
