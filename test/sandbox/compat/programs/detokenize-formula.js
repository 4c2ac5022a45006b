module.exports = async ({ bt, args, configuration }) => {
  const clear = await bt.detokenize({ number: `{{ ${args.token} }}`, nested: [{ last4: `{{ ${args.token} | last4 }}` }] });
  const nested = await bt.reactors.react(configuration.OTHER, { args: { value: clear.number } });
  return { raw: { nested, last4: clear.nested[0].last4 }, tokenize: { number: clear.number } };
};
