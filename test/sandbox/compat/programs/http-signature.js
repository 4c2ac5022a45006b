const { createHash, createPrivateKey, createPublicKey, sign, verify } = require('crypto');
module.exports = async ({ args, configuration }) => {
  const body = JSON.stringify(args.body);
  const digest = `sha-256=:${createHash('sha256').update(body).digest('base64')}:`;
  const parameters = '("@method" "@path" "content-digest");created=1700000000;keyid="k1";alg="ed25519"';
  const base = [`"@method": ${args.method}`, `"@path": ${args.path}`, `"content-digest": ${digest}`, `"@signature-params": ${parameters}`].join('\n');
  const key = createPrivateKey(configuration.ED25519);
  const signature = sign(null, Buffer.from(base), key);
  return { body: args.body, headers: { 'Content-Digest': digest, 'Signature-Input': `sig1=${parameters}`, Signature: `sig1=:${signature.toString('base64')}:`, good: String(verify(null, Buffer.from(base), createPublicKey(key), signature)) } };
};
