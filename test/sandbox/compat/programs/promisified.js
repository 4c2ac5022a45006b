const { promisify } = require('util');
const crypto = require('crypto');
const sleep = promisify(setTimeout);
const { setTimeout: delay, setInterval: every } = require('timers/promises');
module.exports = async () => {
  const slept = [await sleep(1), await sleep(1, 'value'), await promisify(setImmediate)('soon'), await delay(1, 'later')];
  let ticks = 0;
  for await (const value of every(1, 'tick')) if (++ticks === 3) { slept.push(value); break; }
  const { publicKey, privateKey } = await promisify(crypto.generateKeyPair)('ec', { namedCurve: 'P-256' });
  const signature = await promisify(crypto.sign)('sha256', Buffer.from('m'), privateKey);
  return { body: { slept, ticks, curve: publicKey.asymmetricKeyDetails.namedCurve, good: crypto.verify('sha256', Buffer.from('m'), publicKey, signature), random: (await promisify(crypto.randomBytes)(7)).length }, headers: {} };
};
