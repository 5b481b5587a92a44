// How things and links are drawn by the graphics card: four shapes, a ring around what is in doubt, dashes for what was
// concluded. sigma's own programs know circles and plain lines only.
const { Sigma } = globalThis;
const { FLOAT, UNSIGNED_BYTE, POINTS } = WebGLRenderingContext;
const { floatColor } = Sigma.utils;

const bytes = (name) => ({ name, size: 4, type: UNSIGNED_BYTE, normalized: true });
const float = (name, size = 1) => ({ name, size, type: FLOAT });

const THING_VERTEX = /* glsl */ `
attribute vec4 a_id;
attribute vec4 a_color;
attribute vec4 a_ring;
attribute vec2 a_position;
attribute float a_size;
attribute float a_shape;
uniform float u_sizeRatio;
uniform float u_pixelRatio;
uniform mat3 u_matrix;
varying vec4 v_color;
varying vec4 v_ring;
varying float v_shape;
varying float v_soft;
const float bias = 255.0 / 254.0;

void main() {
  gl_Position = vec4((u_matrix * vec3(a_position, 1)).xy, 0, 1);
  // Half as large again as the thing, so that there is room for the ring.
  gl_PointSize = a_size / u_sizeRatio * u_pixelRatio * 3.0;
  v_soft = 1.5 / gl_PointSize;
  v_shape = a_shape;
  #ifdef PICKING_MODE
  v_color = a_id;
  #else
  v_color = a_color;
  #endif
  v_color.a *= bias;
  v_ring = a_ring;
  v_ring.a *= bias;
}`;

const THING_FRAGMENT = /* glsl */ `
precision mediump float;
varying vec4 v_color;
varying vec4 v_ring;
varying float v_shape;
varying float v_soft;
const vec4 transparent = vec4(0.0);

// How far a point lies outside of the shape, which has the radius 1/3.
float outside(vec2 at) {
  if (v_shape < 0.5) return length(at) - 0.333;
  if (v_shape < 1.5) return max(abs(at.x), abs(at.y)) - 0.28;
  if (v_shape < 2.5) return max(0.866 * abs(at.x) - 0.5 * at.y, at.y) - 0.2;
  return (abs(at.x) + abs(at.y)) * 0.7071 - 0.27;
}

void main(void) {
  vec2 at = gl_PointCoord - vec2(0.5, 0.5);
  float away = outside(at);
  #ifdef PICKING_MODE
  gl_FragColor = away < 0.03 ? v_color : transparent;
  #else
  vec4 shown = mix(v_color, transparent, smoothstep(-v_soft, v_soft, away));
  float ring = abs(length(at) - 0.44) - 0.045;
  gl_FragColor = mix(v_ring, shown, smoothstep(-v_soft, v_soft, ring));
  #endif
}`;

export class Things extends Sigma.rendering.NodeProgram {
  getDefinition() {
    return {
      VERTICES: 1,
      VERTEX_SHADER_SOURCE: THING_VERTEX,
      FRAGMENT_SHADER_SOURCE: THING_FRAGMENT,
      METHOD: POINTS,
      UNIFORMS: ["u_sizeRatio", "u_pixelRatio", "u_matrix"],
      ATTRIBUTES: [float("a_position", 2), float("a_size"), float("a_shape"), bytes("a_color"), bytes("a_ring"), bytes("a_id")],
    };
  }

  processVisibleItem(id, start, data) {
    const { array } = this;
    array[start++] = data.x;
    array[start++] = data.y;
    array[start++] = data.size;
    array[start++] = data.shape;
    array[start++] = floatColor(data.color);
    array[start++] = floatColor(data.ring);
    array[start++] = id;
  }

  setUniforms({ sizeRatio, pixelRatio, matrix }, { gl, uniformLocations }) {
    gl.uniform1f(uniformLocations.u_pixelRatio, pixelRatio);
    gl.uniform1f(uniformLocations.u_sizeRatio, sizeRatio);
    gl.uniformMatrix3fv(uniformLocations.u_matrix, false, matrix);
  }
}

const LINE_VERTEX = /* glsl */ `
attribute vec4 a_id;
attribute vec4 a_color;
attribute vec2 a_normal;
attribute float a_normalCoef;
attribute vec2 a_positionStart;
attribute vec2 a_positionEnd;
attribute float a_positionCoef;
attribute float a_dashed;
uniform mat3 u_matrix;
uniform float u_sizeRatio;
uniform float u_correctionRatio;
uniform float u_minEdgeThickness;
uniform vec2 u_viewport;
varying vec4 v_color;
varying float v_along;
varying float v_dashed;
const float bias = 255.0 / 254.0;

void main() {
  vec2 normal = a_normal * a_normalCoef;
  vec2 position = mix(a_positionStart, a_positionEnd, a_positionCoef);
  float normalLength = length(normal);
  float thickness = max(normalLength, u_minEdgeThickness * u_sizeRatio) * u_correctionRatio / u_sizeRatio;
  gl_Position = vec4((u_matrix * vec3(position + normal / normalLength * thickness, 1)).xy, 0, 1);
  vec2 whole = (u_matrix * vec3(a_positionEnd, 1)).xy - (u_matrix * vec3(a_positionStart, 1)).xy;
  v_along = a_positionCoef * length(whole * u_viewport * 0.5);
  v_dashed = a_dashed;
  #ifdef PICKING_MODE
  v_color = a_id;
  #else
  v_color = a_color;
  #endif
  v_color.a *= bias;
}`;

const LINE_FRAGMENT = /* glsl */ `
precision mediump float;
varying vec4 v_color;
varying float v_along;
varying float v_dashed;

void main(void) {
  if (v_dashed > 0.5 && mod(v_along, 9.0) > 5.0) discard;
  gl_FragColor = v_color;
}`;

export class Lines extends Sigma.rendering.EdgeRectangleProgram {
  getDefinition() {
    const plain = super.getDefinition();
    return {
      ...plain,
      VERTEX_SHADER_SOURCE: LINE_VERTEX,
      FRAGMENT_SHADER_SOURCE: LINE_FRAGMENT,
      UNIFORMS: ["u_matrix", "u_sizeRatio", "u_correctionRatio", "u_minEdgeThickness", "u_viewport"],
      ATTRIBUTES: [
        float("a_positionStart", 2), float("a_positionEnd", 2), float("a_normal", 2), float("a_dashed"), bytes("a_color"),
        bytes("a_id"),
      ],
    };
  }

  processVisibleItem(id, start, source, target, data) {
    const [dx, dy] = [target.x - source.x, target.y - source.y];
    const scale = (data.size || 1) / (Math.hypot(dx, dy) || 1);
    const { array } = this;
    array[start++] = source.x;
    array[start++] = source.y;
    array[start++] = target.x;
    array[start++] = target.y;
    array[start++] = -dy * scale;
    array[start++] = dx * scale;
    array[start++] = data.dashed ? 1 : 0;
    array[start++] = floatColor(data.color);
    array[start++] = id;
  }

  setUniforms({ matrix, sizeRatio, correctionRatio, minEdgeThickness, width, height }, { gl, uniformLocations }) {
    gl.uniformMatrix3fv(uniformLocations.u_matrix, false, matrix);
    gl.uniform1f(uniformLocations.u_sizeRatio, sizeRatio);
    gl.uniform1f(uniformLocations.u_correctionRatio, correctionRatio);
    gl.uniform1f(uniformLocations.u_minEdgeThickness, minEdgeThickness);
    gl.uniform2f(uniformLocations.u_viewport, width, height);
  }
}
