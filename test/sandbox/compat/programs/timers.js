const { promisify, inspect, format } = require('util');
const sleep = promisify((milliseconds, done) => setTimeout(() => done(null, 'slept'), milliseconds));
module.exports = async () => {
  const raced = await Promise.race([sleep(5), new Promise((resolve) => setTimeout(resolve, 5000, 'slow').unref?.())]);
  let ticks = 0;
  await new Promise((resolve) => {
    const id = setInterval(() => {
      if (++ticks === 3) resolve(clearInterval(id));
    }, 1);
  });
  return { body: { raced, ticks, text: format('%s is %j', 'it', { a: [1] }), shown: inspect({ deep: { a: { b: { c: 1 } } } }) }, headers: {} };
};
