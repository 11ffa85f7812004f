/** The version of the API and of the events, in `openapi.json` and the header `X-API-Version`. */
export const apiVersion = '2.1.0'
