module.exports = async function (req) {
  const { bt, args: { body, headers } } = req;
  const { card, ...rest } = body;
  const token = await bt.tokenize({ type: 'card', data: { number: card.pan, expiration_month: Number(card.exp.slice(0, 2)), expiration_year: 2000 + Number(card.exp.slice(3)) } });
  return { body: { ...rest, card: { token: token.id, last4: card.pan.slice(-4) } }, headers };
};
