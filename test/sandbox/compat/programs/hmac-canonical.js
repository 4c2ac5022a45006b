const { createHmac } = require('node:crypto');
const escape = (value) => String(value).replace(/\\/g, '\\\\').replace(/:/g, '\\:');
module.exports = async ({ args: { body }, configuration }) => {
  const keys = Object.keys(body).sort();
  const data = [...keys, ...keys.map((key) => escape(body[key]))].join(':');
  const key = Buffer.from(configuration.HMAC_KEY, 'hex');
  return { body: { ...body, merchantSig: createHmac('sha256', key).update(data, 'utf8').digest('base64') }, headers: {} };
};
