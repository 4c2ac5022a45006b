const http = require('http');
const post = (target, value) =>
  new Promise((resolve, reject) => {
    const text = JSON.stringify(value);
    const request = http.request(
      { hostname: target.hostname, port: target.port, path: '/echo', method: 'POST', headers: { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) } },
      (response) => {
        const chunks = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('end', () => resolve({ status: response.statusCode, type: response.headers['content-type'], body: JSON.parse(Buffer.concat(chunks).toString()) }));
      },
    );
    request.on('error', reject);
    request.write(text);
    request.end();
  });
module.exports = async ({ args: { body }, configuration: { BASE } }) => ({ body: await post(new URL(BASE), body), headers: {} });
