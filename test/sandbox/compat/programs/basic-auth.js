module.exports = async function ({ args: { body, headers }, configuration }) {
  const credentials = Buffer.from(`${configuration.USER}:${configuration.PASSWORD}`).toString('base64');
  headers['Authorization'] = 'Basic ' + credentials;
  delete headers['x-internal'];
  return { body, headers };
};
