const zlib = require('zlib');
const { promisify } = require('util');
module.exports = async ({ args: { body } }) => {
  const packed = zlib.gzipSync(JSON.stringify(body));
  const unpacked = JSON.parse((await promisify(zlib.gunzip)(packed)).toString());
  const deflated = zlib.deflateSync(Buffer.from('saml'.repeat(20))).toString('base64');
  return { body: { unpacked, smaller: packed.length < JSON.stringify(body).length, deflated }, headers: { 'content-encoding': 'gzip' } };
};
