const { Buffer: Bytes } = require('buffer');
module.exports = async ({ args: { body } }) => {
  const [, type, data] = /^data:([^;]+);base64,\s*(.*)$/.exec(body.file);
  const bytes = Bytes.from(data, 'base64');
  return { body: { type, size: bytes.length, magic: bytes.toString('latin1', 1, 4), again: btoa(atob(data)) === data, reversed: Bytes.from([...bytes].reverse()).toString('base64') }, headers: {} };
};
