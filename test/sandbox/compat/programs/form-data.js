const { Blob } = require('buffer');
module.exports = async ({ args: { body }, configuration }) => {
  const form = new FormData();
  form.append('amount', 10.5);
  form.append('note', body.note);
  form.append('tag', 'a');
  form.append('tag', 'b');
  form.set('purpose', 'dispute "evidence"');
  form.append('file', new Blob([body.text, new Uint8Array([0, 255])], { type: 'Text/Plain' }), 'evidence.txt');
  form.append('raw', new Blob(['x']));
  form.delete('gone');
  const { data } = await (await fetch(`${configuration.BASE}/form`, { method: 'POST', body: form })).json();
  return { body: { data, tags: form.getAll('tag'), names: [...form].map(([name]) => name), file: form.get('file').name, size: form.get('file').size }, headers: {} };
};
