module.exports = async ({ args: { body } }) => {
  const date = new Date(body.at);
  const day = new Intl.DateTimeFormat('en-GB', { timeZone: 'America/New_York', dateStyle: 'full', timeStyle: 'long' }).format(date);
  const expires = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0, 23, 59, 59));
  const compact = date.toISOString().replace(/[-:]|\.\d+/g, '');
  return { body: { day, expires, compact, week: Math.floor((date - Date.UTC(date.getUTCFullYear(), 0, 1)) / 6048e5), json: JSON.stringify({ date }) }, headers: { Date: date.toUTCString() } };
};
