module.exports = async ({ args: { body } }) => {
  const found = {};
  const pattern = /<(?<name>[\w:]+)(?:\s[^>]*)?>(?<text>[^<]*)<\/\k<name>>/g;
  for (const { groups: { name, text } } of body.xml.matchAll(pattern)) {
    found[name.replace(/^.*:/, '')] = text.replace(/&amp;/g, '&').trim();
  }
  return { body: found, headers: {} };
};
