const [url, token] = Deno.args
const response = await fetch(url, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ pan: `{{ ${token} }}` }),
})
console.log(response.status, await response.text())
