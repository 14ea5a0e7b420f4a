// Decode arrays that were encoded as text.

const TYPES = { u8: Uint8Array, u16: Uint16Array, f32: Float32Array, f64: Float64Array };

function unpacked({ type, data }) {
  const text = atob(data);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new TYPES[type](bytes.buffer);
}

// Columns that were packed one by one, as rows.
function unpackedRows(table, count) {
  const columns = table.map(unpacked);
  return Array.from({ length: count }, (_, n) => Float64Array.from(columns, (column) => column[n]));
}

function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

// L^-1 b for a lower triangle whose rows follow each other.
function solveLower(L, b) {
  const x = new Float64Array(b.length);
  for (let i = 0, place = 0; i < b.length; i++) {
    let rest = b[i];
    for (let j = 0; j < i; j++) rest -= L[place++] * x[j];
    x[i] = rest / L[place++];
  }
  return x;
}

// L^-T b of the same triangle.
function solveLowerTransposed(L, b) {
  const x = Float64Array.from(b);
  for (let i = b.length - 1; i >= 0; i--) {
    const row = (i * (i + 1)) / 2;
    x[i] /= L[row + i];
    for (let j = 0; j < i; j++) x[j] -= L[row + j] * x[i];
  }
  return x;
}

// U b for an upper triangle whose columns follow each other.
function multiplyUpper(U, b) {
  const x = new Float64Array(b.length);
  for (let j = 0, place = 0; j < b.length; j++) {
    for (let i = 0; i <= j; i++) x[i] += U[place++] * b[j];
  }
  return x;
}
