const crypto = require('crypto');
const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
module.exports = async function (req) {
  const signed = `${encode({ alg: 'RS256', typ: 'JWT' })}.${encode({ iss: 'me', ...req.args.body })}`;
  const signature = crypto.createSign('RSA-SHA256').update(signed).sign(req.configuration.PRIVATE_KEY, 'base64url');
  const verified = crypto.createVerify('RSA-SHA256').update(signed).verify(req.configuration.PUBLIC_KEY, signature, 'base64url');
  return { body: { assertion: `${signed}.${signature}`, verified }, headers: { 'content-type': 'application/json' } };
};
