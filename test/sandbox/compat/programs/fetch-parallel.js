module.exports = async ({ args: { body }, configuration: { BASE } }) => {
  const results = await Promise.allSettled(
    body.ids.map(async (id) => {
      const response = await fetch(`${BASE}/item/${id}`);
      if (response.status === 404) throw new RangeError(`no item ${id}`);
      return (await response.json()).name;
    }),
  );
  return { body: { names: results.map((result) => (result.status === 'fulfilled' ? result.value : result.reason.message)) }, headers: {} };
};
