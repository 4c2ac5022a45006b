const crypto = require('crypto');
module.exports = async ({ args: { body }, configuration }) => {
  const key = crypto.createPublicKey({ key: JSON.parse(configuration.JWK), format: 'jwk' });
  const [head, claims, signature] = body.token.split('.');
  const good = crypto.verify('sha256', Buffer.from(`${head}.${claims}`), { key, dsaEncoding: 'ieee-p1363' }, Buffer.from(signature, 'base64url'));
  return { body: { good, type: key.asymmetricKeyType, claims: JSON.parse(Buffer.from(claims, 'base64url')) }, headers: {} };
};
