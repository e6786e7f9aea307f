/**
 * The addresses that the service's documentation lists as its senders. Changes of the list are announced by its
 * support only, so a config can name further ones beside `published`.
 */
export const publishedAddresses: readonly string[] = [
  '4.175.48.171',
  '4.175.48.213',
  '4.175.49.130',
  '4.175.50.76',
  '4.175.51.5',
  '4.175.51.16',
  '4.245.121.140',
  '13.69.68.17',
  '13.80.176.152',
  '13.81.4.233',
  '20.160.242.176',
  '20.160.243.147',
  '20.160.244.172',
  '20.160.245.76',
  '20.160.245.185',
  '20.160.246.172',
  '40.113.105.232',
  '40.113.148.172',
  '51.136.37.178',
  '51.144.3.227',
  '104.40.219.254',
  '104.46.40.137',
  '104.214.230.42',
];
