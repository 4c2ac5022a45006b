const [url, token] = process.argv.slice(2)
const response = await fetch(url, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ client: 'fetch', pan: `{{ ${token} | json: '$.number' }}` }),
})
console.log(response.status, await response.text())
