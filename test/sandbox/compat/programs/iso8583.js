module.exports = async ({ args: { body } }) => {
  const fields = { 2: body.pan, 3: '000000', 4: String(body.amount).padStart(12, '0'), 41: 'TERM0001'.padEnd(8) };
  const bitmap = Buffer.alloc(8);
  for (const id of Object.keys(fields).map(Number)) bitmap[(id - 1) >> 3] |= 0x80 >> ((id - 1) & 7);
  const pan = Buffer.from(String(body.pan.length).padStart(2, '0') + body.pan, 'ascii');
  const message = Buffer.concat([Buffer.from('0100'), bitmap, pan, ...[3, 4, 41].map((id) => Buffer.from(fields[id], 'latin1'))]);
  const frame = Buffer.allocUnsafe(2 + message.length);
  frame.writeUInt16BE(message.length, 0);
  message.copy(frame, 2);
  return { body: { hex: frame.toString('hex'), length: frame.readUInt16BE(), first: frame.slice(2, 6).toString(), bits: [...bitmap] }, headers: {} };
};
