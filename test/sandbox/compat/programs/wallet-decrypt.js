// a wallet's payment token: an ephemeral key, a derived key, a sealed card
const crypto = require('crypto');
module.exports = async ({ args: { body }, configuration }) => {
  const ecdh = crypto.createECDH('prime256v1');
  ecdh.setPrivateKey(configuration.MERCHANT_KEY, 'hex');
  const shared = ecdh.computeSecret(body.ephemeralKey, 'base64', undefined);
  const kdf = (info) => crypto.createHash('sha256').update(Buffer.from([0, 0, 0, 1])).update(shared).update(info, 'ascii').digest();
  const wallet = crypto.createECDH('prime256v1');
  wallet.setPrivateKey(configuration.WALLET_KEY, 'hex');
  const same = wallet.computeSecret(ecdh.getPublicKey()).equals(shared);
  const derived = Buffer.from(crypto.hkdfSync('sha256', shared, Buffer.alloc(32), 'Google', 32)).toString('hex');
  const cipher = crypto.createCipheriv('aes-256-ctr', kdf('id-aes256-GCM'), Buffer.alloc(16));
  return { body: { same, derived, sealed: cipher.update(body.text, 'utf8', 'hex') + cipher.final('hex') }, headers: {} };
};
