const crypto = require('crypto');
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const fromBase32 = (text) => Buffer.from([...text.replace(/=+$/, '')].map((c) => ALPHABET.indexOf(c).toString(2).padStart(5, '0')).join('').match(/.{8}/g).map((bits) => parseInt(bits, 2)));
module.exports = async ({ args: { body } }) => {
  const codes = body.times.map((time) => {
    const counter = Buffer.alloc(8);
    counter.writeBigUInt64BE(BigInt(Math.floor(time / 30)));
    const mac = crypto.createHmac('sha1', fromBase32(body.secret)).update(counter).digest();
    const offset = mac[mac.length - 1] & 0xf;
    return String((mac.readUInt32BE(offset) & 0x7fffffff) % 1e8).padStart(8, '0');
  });
  return { body: { codes }, headers: {} };
};
