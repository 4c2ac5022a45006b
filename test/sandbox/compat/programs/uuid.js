const { randomUUID, randomBytes } = require('crypto');
function v4() {
  const bytes = randomBytes(16);
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
module.exports = async () => {
  const shape = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
  const ids = [v4(), v4(), randomUUID(), randomUUID()];
  return { body: { shaped: ids.every((id) => shape.test(id)), distinct: new Set(ids).size }, headers: { 'Idempotency-Key': String(ids[0].length) } };
};
