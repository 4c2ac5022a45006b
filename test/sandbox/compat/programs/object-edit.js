module.exports = async function (req) {
  const { body, headers } = req.args;
  const { card: { number, ...card }, internal_note, ...rest } = body;
  return {
    body: { ...rest, payment: { pan: number, ...card }, tags: [...(rest.tags || []), 'edited'] },
    headers: { ...headers, 'X-Edited': 'true' },
  };
};
