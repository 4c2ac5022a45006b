module.exports = async ({ bt, args }) => {
  const created = await bt.tokens.create({ type: 'token', data: args.value, metadata: { from: 'formula' } });
  const [found] = (await bt.tokens.search({ query: `id:${created.id}` })).data;
  const updated = await bt.tokens.update(created.id, { metadata: { from: 'update' } });
  const listed = await bt.tokens.list({ type: ['token'] });
  await bt.tokens.delete(created.id);
  const gone = await bt.tokens.retrieve(created.id).catch((error) => [error.status, error instanceof Error]);
  return { raw: { created: created.data, found: found.id === created.id, updated: updated.metadata, listed: listed.data.length, gone }, tokenize: { again: args.value } };
};
