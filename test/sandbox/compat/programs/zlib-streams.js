const zlib = require('zlib');
const { pipeline, Readable } = require('stream');
const { promisify } = require('util');
module.exports = async ({ args: { body } }) => {
  const pack = (stream, chunks) => new Promise((resolve, reject) => {
    const parts = [];
    stream.on('data', (part) => parts.push(part)).on('end', () => resolve(Buffer.concat(parts))).on('error', reject);
    for (const chunk of chunks) stream.write(chunk);
    stream.end();
  });
  const zipped = await pack(zlib.createGzip(), [body.text, Buffer.from(body.text), 'ü']);
  const gunzip = zlib.createGunzip();
  const texts = [];
  gunzip.on('data', (part) => texts.push(part));
  await promisify(pipeline)(Readable.from([zipped.subarray(0, 5), zipped.subarray(5)]), gunzip);
  const broken = await pack(zlib.createInflate(), ['no deflate']).catch((error) => error.code);
  const brotli = await pack(zlib.createBrotliDecompress(), [zlib.brotliCompressSync(body.text)]);
  return { body: { text: Buffer.concat(texts).toString(), broken, brotli: brotli.toString() }, headers: {} };
};
