const cell = (value) => (/[",\n]/.test(String(value)) ? `"${String(value).replace(/"/g, '""')}"` : String(value));
module.exports = async ({ args: { body } }) => {
  const columns = [...new Set(body.rows.flatMap(Object.keys))];
  const text = [columns, ...body.rows.map((row) => columns.map((name) => row[name] ?? ''))].map((row) => row.map(cell).join(',')).join('\r\n');
  const [head, ...lines] = text.split('\r\n').map((line) => line.match(/("([^"]|"")*"|[^,]*)(,|$)/g).map((part) => part.replace(/,$/, '')));
  return { body: { text, head, lines: lines.length }, headers: { 'content-type': 'text/csv; charset=utf-8' } };
};
