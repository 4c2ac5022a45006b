const { Blob } = require('buffer');
module.exports = async ({ args: { body }, configuration }) => {
  const blob = new Blob([body.text, Buffer.from([195, 188]), new Uint16Array([65]).buffer, new Blob(['!'])], { type: 'application/pdf' });
  const echoed = await fetch(`${configuration.BASE}/echo`, { method: 'POST', body: new Blob([JSON.stringify(body)], { type: 'application/json' }) });
  const received = await echoed.blob();
  return {
    body: {
      size: blob.size, type: blob.type, text: await blob.text(), bytes: [...new Uint8Array(await blob.arrayBuffer())],
      parts: [await blob.slice(0, 4).text(), await blob.slice(-3).text(), blob.slice(1, 2, 'a/b').type],
      received: [received.type, received.size, JSON.parse(await received.text())],
      tag: String(blob), wrong: (() => { try { return new Blob('text') } catch (error) { return error.name } })(),
    },
    headers: {},
  };
};
