const { CustomHttpResponseError } = require('@basis-theory/basis-theory-reactor-formulas-sdk-js');
module.exports = async ({ args: { body }, configuration: { BASE } }) => {
  const response = await fetch(`${BASE}/decline`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
  const reply = await response.json();
  if (!response.ok) {
    throw new CustomHttpResponseError({ status: response.status, headers: { 'X-Reason': reply.reason }, body: { error: { code: reply.reason, retry: false } } });
  }
  return { body: reply, headers: {} };
};
