const crypto = require('crypto');
module.exports = async function (req) {
  const { body, headers } = req.args;
  const payload = JSON.stringify(body);
  const message = [headers['x-date'], headers['x-login'], payload].join('.');
  const signature = crypto.createHmac('sha256', req.configuration.SECRET).update(message, 'utf-8').digest('hex');
  return { body, headers: { ...headers, Authorization: `V2-HMAC-SHA256, Signature: ${signature}` } };
};
