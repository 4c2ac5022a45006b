// A destination that requires a client certificate: node server.js <folder> [port]
// The folder contains server.pem, server-key.pem, and ca.pem, the authority of accepted client certificates.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { join } from 'node:path'

const [folder = '.', port = '8443'] = process.argv.slice(2)
const read = (name) => readFileSync(join(folder, name))

const server = createServer(
  {
    cert: read('server.pem'),
    key: read('server-key.pem'),
    ca: read('ca.pem'),
    requestCert: true,
    rejectUnauthorized: true,
  },
  async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    const client = request.socket.getPeerCertificate().subject?.CN
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ client, received: JSON.parse(body) }))
  },
)
server.listen(Number(port), '127.0.0.1', () => {
  process.stdout.write(`https://127.0.0.1:${server.address().port}\n`)
})
