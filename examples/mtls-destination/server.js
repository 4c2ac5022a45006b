// A destination that asks for a client certificate: node server.js <folder> [port]
// The folder holds server.pem and server-key.pem, and ca.pem, whose client certificates are let in.
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
