const escape = (text) => String(text).replace(/[<>&'"]/g, (c) => ({ '<': '&lt;', '>': '&gt;', '&': '&amp;', "'": '&apos;', '"': '&quot;' }[c]));
const element = (name, value) => {
  if (Array.isArray(value)) return value.map((each) => element(name, each)).join('');
  const inner = value !== null && typeof value === 'object' ? Object.entries(value).map(([k, v]) => element(k, v)).join('') : escape(value ?? '');
  return `<${name}>${inner}</${name}>`;
};
module.exports = async (req) => ({
  body: { xml: `<?xml version="1.0" encoding="UTF-8"?><soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/"><soap:Body>${element('Payment', req.args.body)}</soap:Body></soap:Envelope>` },
  headers: { 'Content-Type': 'text/xml', SOAPAction: '"Pay"' },
});
