const EventEmitter = require('events');
const { inherits } = require('util');
function Pipeline() {
  EventEmitter.call(this);
  this.steps = [];
}
inherits(Pipeline, EventEmitter);
Pipeline.prototype.use = function (step) {
  this.steps.push(step);
  return this;
};
Pipeline.prototype.run = async function (value) {
  for (const step of this.steps) this.emit('step', (value = await step(value)));
  return value;
};
module.exports = async function (req) {
  const seen = [];
  const pipeline = new Pipeline().use((v) => ({ ...v, a: 1 })).use(async (v) => ({ ...v, b: 2 }));
  pipeline.on('step', (value) => seen.push(Object.keys(value).length));
  return { body: await pipeline.run(req.args.body), headers: { seen: seen.join() } };
};
