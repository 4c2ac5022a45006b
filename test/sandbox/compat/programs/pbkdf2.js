const { pbkdf2, randomBytes } = require('crypto');
const { promisify } = require('util');
module.exports = async ({ args }) => {
  const key = await promisify(pbkdf2)(args.body.password, 'salt', 2000, 32, 'sha512');
  const callback = await new Promise((resolve, reject) => randomBytes(16, (error, bytes) => (error ? reject(error) : resolve(bytes))));
  return { body: { key: key.toString('hex'), random: callback.length }, headers: {} };
};
