const crypto = require('crypto');
module.exports = async ({ args: { body }, configuration }) => {
  const key = crypto.createHash('sha256').update(configuration.PASSWORD).digest();
  const iv = Buffer.from(configuration.IV, 'hex');
  const cipher = crypto.createCipheriv('aes-256-cbc', key, iv);
  let encrypted = cipher.update(JSON.stringify(body.card), 'utf8', 'base64');
  encrypted += cipher.final('base64');
  const decipher = crypto.createDecipheriv('aes-256-cbc', key, iv);
  const back = decipher.update(encrypted, 'base64', 'utf8') + decipher.final('utf8');
  return { body: { encrypted, same: back === JSON.stringify(body.card) }, headers: {} };
};
