const { Readable, Transform, pipeline } = require('stream');
const { promisify } = require('util');
class Lines extends Transform {
  constructor() {
    super({ readableObjectMode: true });
    this.rest = '';
  }
  _transform(chunk, encoding, done) {
    const parts = (this.rest + chunk).split('\n');
    this.rest = parts.pop();
    for (const part of parts) this.push({ line: part });
    done();
  }
  _flush(done) {
    if (this.rest) this.push({ line: this.rest });
    done();
  }
}
module.exports = async ({ args: { body } }) => {
  const lines = [];
  const source = Readable.from([body.text.slice(0, 5), body.text.slice(5)]);
  await promisify(pipeline)(source, new Lines(), async function (all) {
    for await (const { line } of all) lines.push(line);
  });
  return { body: { lines }, headers: {} };
};
