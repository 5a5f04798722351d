export const ISSUER = 'http://127.0.0.1:8080'
export const CLIENT_ID = '…'
