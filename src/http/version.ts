/** The version of the API and of the events, as `openapi.json` and the header `X-API-Version` tell it. */
export const apiVersion = '2.1.0'
