module.exports = async ({ args: { body } }) => {
  const date = new Date(body.at);
  const parts = new Intl.DateTimeFormat('en-CA', { timeZone: 'America/New_York', year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }).formatToParts(date);
  const part = (type) => parts.find((each) => each.type === type).value;
  const week = (day) => {
    const thursday = new Date(Date.UTC(day.getUTCFullYear(), day.getUTCMonth(), day.getUTCDate() + 4 - (day.getUTCDay() || 7)));
    return Math.ceil(((thursday - Date.UTC(thursday.getUTCFullYear(), 0, 1)) / 864e5 + 1) / 7);
  };
  return {
    body: {
      local: `${part('year')}-${part('month')}-${part('day')} ${part('hour')}:${part('minute')}`,
      week: week(date),
      monthEnd: new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).toISOString().slice(0, 10),
      money: ['en-US', 'de-DE', 'ja-JP'].map((locale) => body.amount.toLocaleString(locale, { style: 'currency', currency: 'EUR' })),
      number: new Intl.NumberFormat('de-CH').format(-1234567.891),
      names: [...body.names].sort(new Intl.Collator('de').compare),
      plural: new Intl.PluralRules('ar').select(11),
      ago: new Intl.RelativeTimeFormat('fr', { numeric: 'auto' }).format(-1, 'day'),
    },
    headers: {},
  };
};
