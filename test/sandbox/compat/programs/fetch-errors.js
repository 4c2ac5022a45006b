const { CustomHttpResponseError } = require('@basis-theory/basis-theory-reactor-formulas-sdk-js');
module.exports = async ({ args: { body }, configuration: { BASE } }) => {
  const response = await fetch(`${BASE}/refuse`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
  const answer = await response.json();
  if (!response.ok) {
    throw new CustomHttpResponseError({ status: response.status, headers: { 'X-Reason': answer.reason }, body: { error: { code: answer.reason, retry: false } } });
  }
  return { body: answer, headers: {} };
};
