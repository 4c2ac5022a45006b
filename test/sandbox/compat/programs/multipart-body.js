const CRLF = '\r\n';
module.exports = async ({ args: { body } }) => {
  const boundary = '----boundary42';
  const parts = Object.entries(body.fields).map(([name, value]) => Buffer.from(`--${boundary}${CRLF}Content-Disposition: form-data; name="${name.replace(/"/g, '%22')}"${CRLF}${CRLF}${value}${CRLF}`));
  const file = Buffer.from(body.file, 'base64');
  parts.push(Buffer.from(`--${boundary}${CRLF}Content-Disposition: form-data; name="file"; filename="a.bin"${CRLF}Content-Type: application/octet-stream${CRLF}${CRLF}`), file, Buffer.from(`${CRLF}--${boundary}--${CRLF}`));
  const whole = Buffer.concat(parts);
  const read = whole.toString('latin1').split(`--${boundary}`).slice(1, -1).map((part) => part.split(CRLF + CRLF)[1].slice(0, -2));
  return { body: { base64: whole.toString('base64'), read: read.map((text) => Buffer.from(text, 'latin1').toString()), same: Buffer.from(read[read.length - 1], 'latin1').equals(file) }, headers: { 'Content-Type': `multipart/form-data; boundary=${boundary}`, 'Content-Length': whole.length } };
};
