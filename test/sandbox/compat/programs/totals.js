module.exports = async ({ args }) => {
  const { items, currency } = args.body;
  const byKind = new Map();
  for (const { kind, price, quantity = 1 } of items) {
    byKind.set(kind, (byKind.get(kind) ?? 0) + Math.round(price * 100) * quantity);
  }
  const total = [...byKind.values()].reduce((sum, cents) => sum + cents, 0);
  const kinds = Object.fromEntries([...byKind].sort(([a], [b]) => a.localeCompare(b)));
  return { body: { total, kinds, shown: new Intl.NumberFormat('en-US', { style: 'currency', currency }).format(total / 100) }, headers: {} };
};
