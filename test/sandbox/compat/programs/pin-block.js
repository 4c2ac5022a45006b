const crypto = require('crypto');
const xor = (a, b) => Buffer.from(a.map((byte, index) => byte ^ b[index]));
module.exports = async ({ args: { body } }) => {
  const pin = Buffer.from(`0${body.pin.length.toString(16)}${body.pin}`.padEnd(16, 'F'), 'hex');
  const pan = Buffer.from('0000' + body.pan.slice(-13, -1), 'hex');
  const block = xor(pin, pan);
  const cipher = crypto.createCipheriv('des-ede3-cbc', Buffer.from(body.key, 'hex'), Buffer.alloc(8)).setAutoPadding(false);
  return { body: { block: block.toString('hex').toUpperCase(), sealed: Buffer.concat([cipher.update(block), cipher.final()]).toString('hex') }, headers: {} };
};
